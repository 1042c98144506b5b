// SPDX-License-Identifier: Apache-2.0
#include "bindings.h"

#include "kasimir/base/error.h"

namespace nb = nanobind;

namespace kasimir::python {
namespace {

/// An Error becomes the exception of kasimir.errors that stands for its fault.
void raise(const Error& error) {
  const nb::object made = nb::module_::import_("kasimir.errors")
                              .attr("from_native")(static_cast<int>(error.fault()), error.message(), error.notes());
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

}  // namespace
}  // namespace kasimir::python

NB_MODULE(_kasimir, module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const kasimir::Error& error) {
      kasimir::python::raise(error);
    }
  });
  nb::set_leak_warnings(false);  // a study that lives until the interpreter ends is no fault of its user
  module.def("version", [] { return KASIMIR_PYTHON_VERSION; });
  kasimir::python::add_kernel(module);
  kasimir::python::add_sampler(module);
  kasimir::python::add_network(module);
  kasimir::python::add_accelerator(module);
  kasimir::python::add_numbers(module);
}
