#include "workloads/variable_draws.hpp"

#include <fmt/format.h>

#include "sim/kernel/check.hpp"

namespace headroom {
namespace {

RandomStream stream(std::uint64_t seed, std::string_view scope, std::string_view name) {
  return {seed, fmt::format("{}{}", scope, name)};
}

std::size_t number_of(Variable variable) {
  switch (variable) {
    case Variable::prompt: return 0;
    case Variable::output: return 1;
    case Variable::system_share:
    case Variable::system_item: return 2;
    case Variable::document_share:
    case Variable::document_item: return 3;
    case Variable::first_token_patience: return 4;
    case Variable::answer_patience: return 5;
    default: break;
  }
  HEADROOM_CHECK(false, "a variable that sessions of one turn do not have");
  return 0;
}

}  // namespace

NamedStreams::NamedStreams(std::uint64_t seed, std::string_view scope)
    : streams_{
          stream(seed, scope, "lengths/prompt"),       stream(seed, scope, "lengths/output"),
          stream(seed, scope, "prefix/system"),        stream(seed, scope, "prefix/document"),
          stream(seed, scope, "patience/first_token"), stream(seed, scope, "patience/answer")} {}

std::uint64_t NamedStreams::bits(Variable variable) { return streams_[number_of(variable)].bits(); }

}  // namespace headroom
