#pragma once
// A compose file whose services start several engines, which may share devices.

#include <optional>
#include <string>
#include <vector>

#include "sim/app/system_source.hpp"
#include "sim/intake/from.hpp"
#include "sim/memory/shared_device.hpp"

namespace headroom {

// One of the services as a system: `document` says what those before it hold.
struct SharedService {
  std::string name;
  DescribedSystem system;
};

struct SharedServices {
  SharedStarts together;
  std::vector<SharedService> services;  // in the order of the starts
  std::vector<std::string> order;       // what of it is assumed
};

// Whether `file` is a compose file with several engines that are not replicas of one fleet.
// `wanted`: the service that is asked about; others that cannot be read do not count then.
[[nodiscard]] bool starts_several(const std::string& file, const std::string& wanted);

// All of them on `device` ("2x4090": two each). `set`: path=value for all, or
// SERVICE:path=value for one. ConfigError: no device, no such service, or as resolve_system. Where
// `wanted` names a service, errors of the others are notes of it.
[[nodiscard]] SharedServices shared_services(const std::string& file, const std::string& device,
                                             const std::vector<std::string>& set,
                                             const Catalog& catalog, const std::string& wanted);

// `assignment` as the service called `name` takes it, without the name; nothing where it is for
// another one.
[[nodiscard]] std::optional<std::string> setting_for(const std::string& name,
                                                     const std::string& assignment);

// The one called `name`. ConfigError naming all.
[[nodiscard]] const SharedService& service_named(const SharedServices& services,
                                                 const std::string& name);

}  // namespace headroom
