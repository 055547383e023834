# Programs that need nothing of the machine they run on: every library is linked as an archive, the
# C library too. What HEADROOM_STATIC changes about the libraries is in this file and the one that
# it includes.
#
# The linker writes a map beside each program (bin/NAME.map): which archives it took members of.
include(HeadroomArchives)
add_link_options(-static-pie -Wl,-Map=${PROJECT_BINARY_DIR}/bin/$<TARGET_PROPERTY:NAME>.map)
