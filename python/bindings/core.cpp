#include "bindings/module.h"
#include "curnm/base/parallel.h"

PYBIND11_MODULE(_core, module) {
  using namespace curnm::python;
  pybind11::register_exception<curnm::Error>(module, "Error", PyExc_ValueError);
  prepare(module, [] { curnm::set_num_threads(1); });
  bind_data(module);
  bind_tasks(module);
}
