// The module openaclnn._judge: goldens and reports. It is imported at its first use.
#include "call.h"

NB_MODULE(_judge, module) {
  using namespace openaclnn::python;
  module.doc() = "Goldens of the operators, and reports about results of any device.";
  add_calls(module);
  add_goldens(module);
  add_reports(module);
}
