#pragma once
// The command line as a function, for the program and for the Python package.

namespace headroom {

// `argv` as of main; signals are handled as a program handles them. Returns the exit code.
int run_program(int argc, char** argv);

}  // namespace headroom
