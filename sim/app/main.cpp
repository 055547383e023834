#include "sim/app/program.hpp"

int main(int argc, char** argv) { return headroom::run_program(argc, argv); }
