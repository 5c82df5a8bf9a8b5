// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/known_tokens.hpp: token texts that mean the same in every vocabulary that has them.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Tokens after which generation ends. Files often mark only one of them, or mark them as plain text.
inline constexpr std::array<std::string_view, 21> kEndOfGeneration{
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "[e~[",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
};

/// Tokens of fill-in-the-middle prompts that end a completion too.
inline constexpr std::array<std::string_view, 4> kInfillEnds{"<|fim_pad|>", "<|fim_repo|>", "<|repo_name|>",
                                                             "<|file_sep|>"};

/// Tokens of fill-in-the-middle prompts that are control tokens even where the file says otherwise.
inline constexpr std::array<std::string_view, 3> kInfillControls{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"};

}  // namespace zrt::inline ZRT_ABI::text::detail
