// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/json.hpp: the JSON form of fused programs; an optional header that needs nlohmann-json.
//
// Like the JSON form of the portable tensor IR, whose attributes, types and regions it shares:
//
//   {"version": 1, "feeds": [0, 1],
//    "steps": [{"step_id": 0, "op_name": "dropout", "input_ids": [0], "attrs": {"rate": 0.5},
//               "result_id": 2, "mode_sensitive": true}],
//    "outputs": {"pred": 2}, "state_in": [1], "state_out": [{"state": 1, "value": 2}],
//    "meta": [{"id": 0, "dtype": "f32", "shape": [4], "device": "cpu"}], "regions": [REGION]}
//
// A step with several results has "result_ids" instead. state_in, state_out, meta, device and regions may be
// left out or null; regions are those from number 1 on. An attribute may bear a name of kAttributeAliases.
// feeds and state_in are sets, read in any order and written ascending.
// meta is read as an object by id too, {"0": {"dtype": "f32", "shape": [4]}}; it is written as a list, since
// an object has at most kMaxMapEntries members.
#pragma once

#include <zrt/ir/fused/verify.hpp>
#include <zrt/ir/ptir/json.hpp>

#include <charconv>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

using ptir::Json;

/// What was read of a program with a step whose attributes are not in the form, for `append_report`.
struct BrokenProgram {
  explicit BrokenProgram(Allocator a = system_allocator()) noexcept : program(a), cut(a) {}

  FusedProgram program;  ///< the steps without the attributes that could not be read
  CutWire cut;           ///< its step is kNone where it is not a step that broke
  Error cause{};         ///< the error without the step
};

namespace detail {

class FusedJsonWriter : ptir::detail::ProgramJsonWriter {
 public:
  explicit FusedJsonWriter(const FusedProgram& program)
      : ptir::detail::ProgramJsonWriter(program.store), fused_(program) {}

  [[nodiscard]] Result<Json> run() {
    Json json{{"version", fused_.version}, {"feeds", ids(fused_.feeds.span())}};
    Json steps = Json::array();
    for (const Step& s : fused_.steps) steps.push_back(step(s));
    json["steps"] = std::move(steps);
    json["outputs"] = Json::object();
    for (const Output& output : fused_.outputs) json["outputs"][text(output.name.view())] = output.id;
    if (!fused_.state_in.empty()) json["state_in"] = ids(fused_.state_in.span());
    for (const StateUpdate& update : fused_.state_out)
      json["state_out"].push_back({{"state", update.state}, {"value", update.value}});
    for (const Meta& meta : fused_.meta) {
      Json entry{{"id", meta.id}};
      entry.update(tensor(meta.type));
      if (!meta.device.view().empty()) entry["device"] = text(meta.device.view());
      json["meta"].push_back(std::move(entry));
    }
    for (std::size_t i = 1; i < fused_.store.regions.size(); ++i)
      json["regions"].push_back(region(fused_.store.regions[i]));
    if (failed_) return std::unexpected<Error>(error_);
    return json;
  }

 private:
  [[nodiscard]] static Json ids(Span<const ValueId> values) {
    Json list = Json::array();
    for (const ValueId id : values) list.push_back(id);
    return list;
  }
  [[nodiscard]] Json step(const Step& s) {
    const ptir::OpInfo* op = find_op(s.op.view());
    const auto results = fused_.results_of(s);
    if (op == nullptr) set(Error::of(Errc::unsupported_opcode, s.op.view(), " is no operation"));
    if (results.empty()) set(Error::of(Errc::invalid_params, "step ", s.step_id, " has no result"));
    if (failed_) return {};
    Json json{{"step_id", s.step_id}, {"op_name", std::string(op->name)}, {"input_ids", ids(fused_.inputs_of(s))}};
    json["attrs"] = attributes(*op, fused_.attributes_of(s));
    if (results.size() == 1)
      json["result_id"] = results[0];
    else
      json["result_ids"] = ids(results);
    json["mode_sensitive"] = s.mode_sensitive;
    return json;
  }

  const FusedProgram& fused_;
};

class FusedJsonReader : ptir::detail::ProgramJsonReader {
 public:
  FusedJsonReader(const Allocator& allocator, BrokenProgram* broken)
      : ptir::detail::ProgramJsonReader(allocator), broken_(broken), fused_(allocator) {}

  [[nodiscard]] Result<FusedProgram> run(const Json& json) {
    const bool read = fused(json);
    fused_.store = std::move(program_);
    if (read && broken_step_ == CutWire::kNone) return std::move(fused_);
    if (broken_step_ != CutWire::kNone) error_ = step_error();
    if (broken_ != nullptr) {
      broken_->cut.clear();
      broken_->cut.step = broken_step_;
      broken_->cause = cause_;
      broken_->program = std::move(fused_);
    }
    return std::unexpected<Error>(error_);
  }

 private:
  bool list(const Json& json, std::string_view what) { return json.is_array() || expected(json, what, " as a list"); }
  bool ids(const Json& json, std::string_view what, Vector<ValueId>& values) {
    if (!list(json, what)) return false;
    for (const Json& entry : json) {
      ValueId id = 0;
      if (!integer(entry, id, "a value id") || !keep(values.push_back(id))) return false;
    }
    return true;
  }
  bool id_set(const Json& json, std::string_view what, Vector<ValueId>& values) {
    if (!ids(json, what, values)) return false;
    std::sort(values.begin(), values.end());
    return true;
  }
  bool ids(const Json& json, std::string_view what, PoolRange& range) {
    Vector<ValueId> values(program_.allocator);
    if (!ids(json, what, values)) return false;
    const auto added = program_.add(fused_.ids, values.span());
    if (!keep(added)) return false;
    range = *added;
    return true;
  }
  bool named(const Json& json, std::string_view what, Name& name) {
    if (!json.is_string()) return expected(json, what);
    name = Name(json.get_ref<const std::string&>());
    return name.fits() || fault(Errc::limit_exceeded, what, " is longer than ", Name::kCapacity, " characters");
  }
  /// The object with the names that the op's table has. One number where a list belongs is a list of it.
  bool canonical(const ptir::OpInfo& op, const Json& json, Json& made) {
    if (!json.is_object()) return expected(json, "attrs as an object");
    for (const auto& [key, value] : json.items()) {
      const std::string_view known = field_name(op, key);
      const std::string name(known.empty() ? std::string_view(key) : known);
      if (made.contains(name)) return fault(Errc::duplicate_name, op.name, " has the attribute ", name, " twice");
      const bool one = value.is_number_integer() && !known.empty() && is_list(op, known);
      made[name] = one ? Json::array({value}) : value;
    }
    return true;
  }
  [[nodiscard]] static bool is_list(const ptir::OpInfo& op, std::string_view name) {
    for (const ptir::AttributeField& field : op.fields())
      if (field.name == name)
        return field.kind == ptir::AttributeKind::integers || field.kind == ptir::AttributeKind::shape;
    return false;
  }
  /// The first step's error with the step before it.
  [[nodiscard]] Error step_error() const {
    const Step& step = fused_.steps[broken_step_];
    return Error::of(cause_.code(), "step ", step.step_id, " (", step.op.view(), "): ", cause_.text());
  }
  /// The attributes of a step. The first that are not in the form are told once the rest is read, with what is
  /// around the step.
  void step_attributes(const ptir::OpInfo& op, const Json& json, Step& s) {
    const auto place = std::exchange(instruction_, -1);
    Json attrs = Json::object();
    ptir::Instruction i;
    const bool read = canonical(op, json, attrs) && attributes(op, attrs, i);
    instruction_ = place;
    s.attributes = i.attributes;
    if (read || broken_step_ != CutWire::kNone) return;
    broken_step_ = fused_.steps.size();
    cause_ = error_;
  }
  bool step(const Json& json) {
    Step s;
    if (!object(json, "a step",
                {"step_id", "op_name", "input_ids", "attrs", "result_id?", "result_ids?", "mode_sensitive"}) ||
        !integer(json["step_id"], s.step_id, "a step id"))
      return false;
    instruction_ = s.step_id;
    if (!named(json["op_name"], "an operation", s.op)) return false;
    const ptir::OpInfo* op = find_op(s.op.view());
    if (json.contains("result_id") == json.contains("result_ids"))
      return fault(Errc::invalid_file, "a step has either result_id or result_ids");
    if (!ids(json["input_ids"], "input_ids", s.inputs)) return false;
    if (json.contains("result_ids")) {
      if (!ids(json["result_ids"], "result_ids", s.results)) return false;
      if (s.results.count < 2) return fault(Errc::invalid_file, "result_ids has fewer than 2 ids, expected result_id");
    } else if (!ids(Json::array({json["result_id"]}), "result_id", s.results)) {
      return false;
    }
    if (!json["mode_sensitive"].is_boolean()) return expected(json["mode_sensitive"], "true or false");
    s.mode_sensitive = json["mode_sensitive"].get<bool>();
    // `verify` tells of an unknown op, with the wires around it.
    if (op != nullptr) step_attributes(*op, json["attrs"], s);
    return keep(fused_.steps.push_back(s));
  }
  /// A member that is there and says something.
  [[nodiscard]] static bool given(const Json& json, std::string_view member) {
    return json.contains(member) && !json[member].is_null();
  }
  bool meta_members(const Json& json, Meta& m) {
    return tensor_members(json, m.type) && (!given(json, "device") || named(json["device"], "a device", m.device)) &&
           keep(fused_.meta.push_back(m));
  }
  bool meta(const Json& json) {
    Meta m;
    return object(json, "an entry of meta", {"id", "dtype", "shape", "device?"}) &&
           integer(json["id"], m.id, "a value id") && meta_members(json, m);
  }
  /// An object's members have no order of their own: they are sorted by id.
  bool meta_by_id(const Json& json) {
    for (const auto& [key, value] : json.items()) {
      Meta m;
      const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), m.id);
      if (wrong != std::errc() || end != key.data() + key.size() || (key.size() > 1 && key[0] == '0'))
        return expected(Json(key), "a value id");
      if (!object(value, "an entry of meta", {"dtype", "shape", "device?"}) || !meta_members(value, m)) return false;
    }
    std::sort(fused_.meta.begin(), fused_.meta.end(), [](const Meta& a, const Meta& b) { return a.id < b.id; });
    return true;
  }
  bool fused(const Json& json) {
    if (!object(json, "a fused program",
                {"version", "feeds", "steps", "outputs", "state_in?", "state_out?", "meta?", "regions?"}) ||
        !integer(json["version"], fused_.version, "a version"))
      return false;
    if (fused_.version != kVersion)
      return fault(Errc::unsupported_version, "version is ", fused_.version, ", expected ", kVersion);
    if (!id_set(json["feeds"], "feeds", fused_.feeds) || !list(json["steps"], "steps")) return false;
    std::int64_t place = 0;
    for (const Json& entry : json["steps"]) {
      // Until the step's id is known, its place stands for it.
      instruction_ = place++;
      if (!step(entry)) return false;
    }
    instruction_ = -1;
    if (!json["outputs"].is_object()) return expected(json["outputs"], "outputs as an object");
    for (const auto& [key, value] : json["outputs"].items()) {
      Output output;
      if (!named(Json(key), "an output's name", output.name) || !integer(value, output.id, "a value id") ||
          !keep(fused_.outputs.push_back(output)))
        return false;
    }
    if (given(json, "state_in") && !id_set(json["state_in"], "state_in", fused_.state_in)) return false;
    if (given(json, "state_out")) {
      if (!list(json["state_out"], "state_out")) return false;
      for (const Json& entry : json["state_out"]) {
        StateUpdate update;
        if (!object(entry, "an entry of state_out", {"state", "value"}) ||
            !integer(entry["state"], update.state, "a value id") ||
            !integer(entry["value"], update.value, "a value id") || !keep(fused_.state_out.push_back(update)))
          return false;
      }
    }
    if (given(json, "meta") && json["meta"].is_object()) {
      if (!meta_by_id(json["meta"])) return false;
    } else if (given(json, "meta")) {
      if (!list(json["meta"], "meta")) return false;
      for (const Json& entry : json["meta"])
        if (!meta(entry)) return false;
    }
    if (!given(json, "regions")) return true;
    if (!list(json["regions"], "regions") || !keep(program_.regions.push_back(ptir::Region(program_.allocator))))
      return false;
    region_ = 0;
    for (const Json& entry : json["regions"]) {
      ++region_;
      if (!region(entry)) return false;
    }
    return true;
  }

  BrokenProgram* broken_;
  std::size_t broken_step_ = CutWire::kNone;
  Error cause_{};
  FusedProgram fused_;
};

}  // namespace detail

/// Turns a fused program into JSON that `from_json` reads as an equal one.
///
/// Errors: Errc::unsupported_opcode for an op that does not exist; otherwise those of the PTIR form.
[[nodiscard]] inline Result<Json> to_json(const FusedProgram& program) {
  return detail::FusedJsonWriter(program).run();
}

/// Reads a fused program from JSON. What it means is `verify`'s business: a step of an unknown op is read too,
/// without its attributes, so that `verify` can tell where it stands.
///
/// Errors: Errc::unsupported_version for any version but kVersion; otherwise step, what was expected and what
/// was found. `broken`, where given, takes what was read all the same.
[[nodiscard]] inline Result<FusedProgram> from_json(const Json& json, Allocator allocator = system_allocator(),
                                                    BrokenProgram* broken = nullptr) {
  return detail::FusedJsonReader(allocator, broken).run(json);
}

/// Reads a fused program from the text of its JSON form, as ptir::parse_json_text and from_json do.
[[nodiscard]] inline Result<FusedProgram> parse_json(std::string_view text, Allocator allocator = system_allocator(),
                                                     BrokenProgram* broken = nullptr) {
  const auto json = ptir::parse_json_text(text);
  if (!json) return pass(json);
  return from_json(*json, allocator, broken);
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
