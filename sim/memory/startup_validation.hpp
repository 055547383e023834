#pragma once
// Logged start-ups replayed: what each engine's memory rule says about a row's command and device,
// beside what the engine logged.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/budget/budget.hpp"
#include "hardware/catalog.hpp"

namespace headroom {

enum class LoggedFigure : std::uint8_t { kv_gib, kv_tokens, weights_gib, compute_gib };
inline constexpr std::size_t kLoggedFigures = 4;
[[nodiscard]] std::string_view name_of(LoggedFigure figure);

struct ComparedFigure {
  LoggedFigure figure = LoggedFigure::kv_gib;
  double logged = 0;
  double modelled = 0;
  // Share of the logged value.
  [[nodiscard]] double error() const { return modelled / logged - 1; }
};

// How a start-up ended.
struct StartEnd {
  bool started = true;
  std::optional<StartupStage> stage;  // where it failed; absent also where the log's is no stage
};

struct ReplayedStart {
  std::string id;
  std::string engine;   // as its users write it
  std::string release;  // empty: unknown, the default is modelled
  std::string device;   // of the catalog, with the number of devices
  bool chooses = false;
  std::vector<ComparedFigure> figures;
  // Absent where the log's failure is none of memory at start-up.
  std::optional<StartEnd> logged;
  StartEnd modelled;
  std::string failure;  // the modelled message
  std::vector<std::string> notes;
  // The pool, else what else was logged; absent: only the end of the start-up is scored.
  [[nodiscard]] const ComparedFigure* pool() const;
  [[nodiscard]] bool same_end() const;
};

struct UnplayedStart {
  std::string id;
  std::string engine;
  bool chooses = false;
  std::string why;
};

struct StartupValidation {
  std::vector<ReplayedStart> replayed;
  std::vector<UnplayedStart> unplayed;
};

// Empty where the folder has no rows. DataError as read_logged_starts.
[[nodiscard]] StartupValidation validate_startups(const std::filesystem::path& directory,
                                                  const Catalog& catalog);

// Of |error|.
struct ErrorSpread {
  std::int64_t rows = 0;
  double mean = 0;
  double median = 0;
  double worst = 0;  // with its sign
  std::string worst_id;
};
// Of each start's pool, or of one figure, where `belongs`.
using StartFilter = std::function<bool(const ReplayedStart&)>;
[[nodiscard]] ErrorSpread spread_of_pools(const StartupValidation& validation,
                                          const StartFilter& belongs);
[[nodiscard]] ErrorSpread spread_of_figure(const StartupValidation& validation, LoggedFigure figure,
                                           const StartFilter& belongs);

struct EndCount {
  std::int64_t rows = 0;
  std::int64_t same = 0;  // starts or fails as logged, in the same stage
};
[[nodiscard]] EndCount count_ends(const StartupValidation& validation, const StartFilter& belongs);

}  // namespace headroom
