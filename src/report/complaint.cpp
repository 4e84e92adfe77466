#include "src/report/complaint.h"

#include <iostream>

#include "src/report/printable.h"

namespace preflight::report {

void complain(std::string_view why) { std::cerr << "xpu-preflight: " << printable(why) << '\n'; }

}  // namespace preflight::report
