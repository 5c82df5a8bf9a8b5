// SPDX-License-Identifier: Apache-2.0
// zrt/serve/prefix_tree.hpp: pages by the tokens that they hold and by what comes before them.
#pragma once

#include <zrt/core/siphash.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>
#include <zrt/serve/page_meta.hpp>
#include <zrt/serve/rule.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::serve {

/// All besides tokens that keys and values depend on. Fields are compared one by one, so that none can pass for another.
/// Cache groups without a window list the same pages, so that a scheduler has one number for all of them.
struct PrefixDomain {
  PrefixScope scope = 0;
  std::uint32_t model = 0;
  std::uint32_t kv_type = 0;
  std::uint32_t cache_group = 0;
  std::uint32_t adapter = 0;

  [[nodiscard]] friend bool operator==(const PrefixDomain&, const PrefixDomain&) noexcept = default;
  /// Whether all but the scope is the same.
  [[nodiscard]] bool is_alike(const PrefixDomain& o) const noexcept {
    return model == o.model && kv_type == o.kv_type && cache_group == o.cache_group && adapter == o.adapter;
  }
};

/// A node is a page with 16 tokens; its parent is the page before it. A hash finds candidates, and a hit compares
/// domain, parent and tokens: a collision costs time and nothing else. The key makes collisions hard to find.
template <class Rules> class PrefixTree {
 public:
  using Tokens = std::array<std::uint32_t, kPageTokens>;

  /// `hash_bits` below 64 shorten hashes, so that a test meets collisions.
  [[nodiscard]] static Result<PrefixTree> make(std::uint32_t pages, SipKey key, std::uint32_t hash_bits, Rules rules,
                                               const Allocator& allocator) noexcept {
    PrefixTree t(key, rules, allocator);
    std::uint32_t buckets = 1;
    while (buckets < pages && buckets < 1u << 31) buckets *= 2;
    t.bits_ = hash_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << hash_bits) - 1;
    t.mask_ = buckets - 1;
    if (auto r = t.nodes_.resize(pages); !r) return pass(r);
    if (auto r = t.buckets_.resize(buckets); !r) return pass(r);
    for (std::uint32_t& head : t.buckets_) head = kNone;
    return t;
  }

  /// The page that holds these 16 tokens behind `parent` (kNone: at the beginning), or kNone.
  [[nodiscard]] std::uint32_t find(const PrefixDomain& domain, std::uint32_t parent,
                                   const std::uint32_t* tokens) const noexcept {
    const std::uint64_t hash = hash_of(domain, parent, tokens);
    for (std::uint32_t page = buckets_[hash & mask_]; page != kNone; page = nodes_[page].next) {
      const Node& n = nodes_[page];
      if (n.hash != hash) continue;
      if (rules_.keeps(Rule::compare_scope) && n.domain.scope != domain.scope) continue;
      if (rules_.keeps(Rule::compare_domain) && !n.domain.is_alike(domain)) continue;
      if (rules_.keeps(Rule::compare_parent) && n.parent != parent) continue;
      if (rules_.keeps(Rule::compare_tokens) && !same(n.tokens, tokens)) continue;
      return page;
    }
    return kNone;
  }

  /// Makes a page a node. The caller has looked for one like it.
  void insert(std::uint32_t page, const PrefixDomain& domain, std::uint32_t parent,
              const std::uint32_t* tokens) noexcept {
    Node& n = nodes_[page];
    n.domain = domain;
    n.parent = parent;
    for (std::uint32_t i = 0; i < kPageTokens; ++i) n.tokens[i] = tokens[i];
    n.hash = hash_of(domain, parent, tokens);
    n.next = buckets_[n.hash & mask_];
    n.in_tree = true;
    buckets_[n.hash & mask_] = page;
    ++count_;
  }

  void erase(std::uint32_t page) noexcept {
    std::uint32_t* link = &buckets_[nodes_[page].hash & mask_];
    while (*link != page) link = &nodes_[*link].next;
    *link = nodes_[page].next;
    nodes_[page] = {};
    --count_;
  }

  [[nodiscard]] bool contains(std::uint32_t page) const noexcept { return nodes_[page].in_tree; }
  [[nodiscard]] std::uint32_t parent(std::uint32_t page) const noexcept { return nodes_[page].parent; }
  [[nodiscard]] const PrefixDomain& domain(std::uint32_t page) const noexcept { return nodes_[page].domain; }
  [[nodiscard]] const Tokens& tokens(std::uint32_t page) const noexcept { return nodes_[page].tokens; }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  /// The kept recurrent state behind the page's last token, or kNone.
  [[nodiscard]] std::uint32_t checkpoint(std::uint32_t page) const noexcept { return nodes_[page].checkpoint; }
  void set_checkpoint(std::uint32_t page, std::uint32_t checkpoint) noexcept { nodes_[page].checkpoint = checkpoint; }

  /// By which candidates are found. Without the key nobody can tell which tokens collide.
  [[nodiscard]] std::uint64_t hash_of(const PrefixDomain& d, std::uint32_t parent,
                                      const std::uint32_t* tokens) const noexcept {
    SipHash hash(key_);
    hash.add(rules_.keeps(Rule::compare_scope) ? d.scope : 0);
    const bool domain = rules_.keeps(Rule::compare_domain);
    hash.add(domain ? (std::uint64_t{d.model} << 32) | d.kv_type : 0);
    hash.add(domain ? (std::uint64_t{d.cache_group} << 32) | d.adapter : 0);
    hash.add(rules_.keeps(Rule::compare_parent) ? parent : 0);
    for (std::uint32_t i = 0; i < kPageTokens; i += 2) hash.add((std::uint64_t{tokens[i + 1]} << 32) | tokens[i]);
    return hash.finish() & bits_;
  }

 private:
  struct Node {
    PrefixDomain domain{};
    std::uint64_t hash = 0;
    Tokens tokens{};
    std::uint32_t parent = kNone;
    std::uint32_t next = kNone;
    std::uint32_t checkpoint = kNone;
    bool in_tree = false;
  };

  PrefixTree(SipKey key, Rules rules, const Allocator& a) noexcept : key_(key), rules_(rules), nodes_(a), buckets_(a) {}

  [[nodiscard]] static bool same(const Tokens& a, const std::uint32_t* b) noexcept {
    for (std::uint32_t i = 0; i < kPageTokens; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

  SipKey key_;
  [[no_unique_address]] Rules rules_;
  std::uint64_t bits_ = ~std::uint64_t{0};
  std::uint64_t mask_ = 0;
  std::uint32_t count_ = 0;
  Vector<Node> nodes_;
  Vector<std::uint32_t> buckets_;
};

}  // namespace zrt::inline ZRT_ABI::serve
