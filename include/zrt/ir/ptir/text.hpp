// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/text.hpp: the text form of the portable tensor IR, written by `print`, read by `parse`.
//
//   program     = "spec_version" "=" "ptir.v0.4" region+
//   region      = "region" "@" number [name] "(" [parameter {"," parameter}] ")"
//                 "{" instruction* "return" [result {"," result}] "}"         numbered from 0 in order
//   parameter   = "%" id [name] ":" tensor
//   instruction = "%" id [name] "=" op "(" [operand {"," operand}] ")"
//                 ["{" attribute {"," attribute} "}"] ":" (tensor | "tuple" "<" [tensor {"," tensor}] ">")
//   result      = operand ":" tensor
//   operand     = "%" id | "%" id "[" element "]" | literal
//   tensor      = dtype "[" [extent {"," extent}] "]"
//   extent      = number | "?" | "?" name                       and -1 in the new_shape of reshape
//   literal     = tensor "{" [element {"," element}] "}"        row-major; a complex one is (re, im)
//               | tensor "x" string                             the bytes in hexadecimal
//   attribute   = name "=" value                                by the tables in attributes.hpp:
//                 integer, real (1.0, inf, or bits as 0x…), true, false, dtype, a choice's name, string,
//                 [list], shape, literal, @region, {key = value} for a map
//   name        = letters, digits, "_" and ".", not starting with a digit or "." | string
//   string      = "…" with \" \\ \n \xNN
//
// Comments run from // to the end of the line.
#pragma once

#include <zrt/ir/ptir/parse.hpp>
#include <zrt/ir/ptir/print.hpp>
