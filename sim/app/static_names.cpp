// Part of the static program alone. The machine's /etc/nsswitch.conf may name ways to look up a
// host that are shared libraries for the machine's C library; loaded beside the one in here they
// would crash. Files and DNS are built in, and enough.
#include <nss.h>

namespace headroom {
namespace {

[[gnu::constructor]] void look_up_names_without_plugins() {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("services", "files");
}

}  // namespace
}  // namespace headroom
