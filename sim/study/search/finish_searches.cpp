#include "sim/study/search/finish_searches.hpp"

#include <algorithm>

#include "sim/study/search/bisection.hpp"
#include "sim/study/search/front.hpp"
#include "sim/study/store/merge.hpp"
#include "sim/study/sweep/study_plan.hpp"

namespace headroom {

SearchCounts finish_searches(const std::string& path) {
  Database database(path, Database::Mode::existing);
  const StudyFacts facts = read_facts(database);
  // What is stored of a study is a study: with its base written out.
  const StudyPlan plan(parse_study(parse_json(facts.text, path), "", {}));
  const std::vector<Search>& searches = plan.study().searches;
  SearchCounts counts;
  counts.wanted = static_cast<std::int64_t>(searches.size()) * plan.points();
  if (counts.wanted == 0) return counts;
  const bool has_fronts = std::ranges::any_of(searches, &Search::is_front);
  if (has_fronts && missing_runs(database, facts.total_runs).empty()) {
    const std::vector<StoredSearch> fronts =
        front_rows(searches, plan.points(), plan.study().replications, database);
    Transaction transaction(database);
    SearchRows rows(database);
    for (const StoredSearch& row : fronts) rows.add(row);
    transaction.commit();
  }
  counts.missing = counts.wanted;
  for (const StoredSearch& row : read_search_rows(database)) {
    --counts.missing;
    if (row.status == name_of(SearchEnd::failed)) ++counts.failed;
  }
  return counts;
}

}  // namespace headroom
