#pragma once
// A command of the program: its name, its options, and what it does. Each has its own file in
// commands/; the table of all is in program.cpp.

#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace headroom {

extern const std::string kVersion;
inline constexpr const char* kCatalogHelp =
    "folder with your own models, devices, environments and calibrations";
inline constexpr const char* kColumnsHelp =
    "of a trace: time=NAME:ms,in=NAME,out=NAME,status=NAME, where its header does not say it";
// What --columns says, as --set takes it.
[[nodiscard]] std::string columns_setting(const std::string& columns);

struct Command {
  std::string_view name;
  std::string_view doc;
  // Adds its options to `command`. What it returns does the work, once they are read, and gives the
  // exit code. ConfigError, DataError: an option or a file is wrong.
  std::function<int()> (*add)(CLI::App& command);
};

extern const Command kAskCommand;
extern const Command kAssertCommand;
extern const Command kInitCommand;
extern const Command kTuneCommand;
extern const Command kRunCommand;
extern const Command kCheckCommand;
extern const Command kCapacityCommand;
extern const Command kAuditCommand;
extern const Command kStepCommand;
extern const Command kValidateCommand;
extern const Command kCalibrateCommand;
extern const Command kFromCommand;
extern const Command kObserveCommand;
extern const Command kServeCommand;
extern const Command kTwinCommand;
extern const Command kWatchCommand;
extern const Command kTraceCommand;
extern const Command kCompareCommand;
extern const Command kFleetCommand;
extern const Command kEmitCommand;
extern const Command kSweepCommand;
extern const Command kMergeCommand;
extern const Command kReportCommand;
extern const Command kListCommand;
extern const Command kCompletionCommand;
extern const Command kManualCommand;

// Text for people has no control characters; JSON is printed unchanged. Returns 0.
int print(const std::string& text, bool is_json = false);

enum class StudyEnd { complete, incomplete, interrupted };

struct StudyAnswer {
  std::string text;                   // to print
  StudyEnd end = StudyEnd::complete;  // incomplete: runs failed, or are missing
};
// Prints it; the exit code.
int answer_of(const StudyAnswer& answer, bool is_json = false);

}  // namespace headroom
