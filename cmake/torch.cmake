# SPDX-License-Identifier: Apache-2.0
# Defines the imported target kasimir_torch. The wheel in build/venv is linked directly rather than by its
# TorchConfig.cmake: the configuration of a wheel built for CUDA asks for nvcc and the whole CUDA toolkit, which a
# program that only calls ATen needs neither to build nor to run.
#   -DKASIMIR_PYTHON=/path/python3   the wheel that this interpreter imports
#   -DTorch_DIR=/path/to/Torch       any other libtorch, through its own TorchConfig.cmake
set(KASIMIR_PYTHON ${PROJECT_SOURCE_DIR}/build/venv/bin/python3 CACHE FILEPATH "the interpreter whose torch is linked")

set(kasimir_torch_folder ${CMAKE_CURRENT_LIST_DIR})

# Importing torch takes seconds: ask once, and again only when the interpreter or the files it named have changed.
function(kasimir_torch_facts result)
  list(LENGTH KASIMIR_TORCH_FACTS known)
  if(known EQUAL 4)
    list(GET KASIMIR_TORCH_FACTS 0 interpreter)
    list(GET KASIMIR_TORCH_FACTS 2 folder)
    if(interpreter STREQUAL KASIMIR_PYTHON AND EXISTS ${folder}/lib/libtorch.so)
      set(${result} "${KASIMIR_TORCH_FACTS}" PARENT_SCOPE)
      return()
    endif()
  endif()
  if(NOT EXISTS ${KASIMIR_PYTHON})
    message(FATAL_ERROR "no Python with torch at ${KASIMIR_PYTHON}: run `make setup`, or give -DTorch_DIR=, "
      "-DKASIMIR_PYTHON=, or -DKASIMIR_WITH_TORCH=OFF to build without training and without the program")
  endif()
  execute_process(COMMAND ${KASIMIR_PYTHON} ${kasimir_torch_folder}/torch_facts.py
    OUTPUT_VARIABLE answer ERROR_VARIABLE complaint RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${KASIMIR_PYTHON} has no usable torch: run `make setup`\n${complaint}")
  endif()
  set(facts "${KASIMIR_PYTHON};${answer}")
  set(KASIMIR_TORCH_FACTS "${facts}" CACHE INTERNAL "interpreter; version; folder; C++11 ABI of the torch wheel")
  set(${result} "${facts}" PARENT_SCOPE)
endfunction()

function(kasimir_torch_from_wheel)
  kasimir_torch_facts(facts)
  list(GET facts 1 version)
  list(GET facts 2 folder)
  list(GET facts 3 abi)
  add_library(kasimir_torch INTERFACE IMPORTED GLOBAL)
  target_include_directories(kasimir_torch INTERFACE ${folder}/include ${folder}/include/torch/csrc/api/include)
  target_compile_definitions(kasimir_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${abi})
  # Nothing here names a symbol of libtorch or libtorch_cuda: --no-as-needed keeps the libraries that register the
  # CUDA kernels when they load. A CUDA wheel finds its own libraries by its own run path, which the linker need not
  # follow: --allow-shlib-undefined.
  set(libraries ${folder}/lib/libtorch.so)
  if(EXISTS ${folder}/lib/libtorch_cuda.so)
    list(APPEND libraries ${folder}/lib/libtorch_cuda.so ${folder}/lib/libc10_cuda.so)
  endif()
  target_link_options(kasimir_torch INTERFACE -Wl,--allow-shlib-undefined)
  target_link_libraries(kasimir_torch INTERFACE
    -Wl,--push-state,--no-as-needed ${libraries} -Wl,--pop-state
    ${folder}/lib/libtorch_cpu.so ${folder}/lib/libc10.so Threads::Threads)
  set(KASIMIR_TORCH_LIBRARIES_DIR ${folder}/lib PARENT_SCOPE)
  message(STATUS "torch ${version} in ${folder}")
endfunction()

if(Torch_DIR)
  find_package(Torch REQUIRED)
  set(KASIMIR_TORCH_LIBRARIES_DIR ${TORCH_INSTALL_PREFIX}/lib)
  add_library(kasimir_torch INTERFACE IMPORTED GLOBAL)
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(kasimir_torch INTERFACE ${torch_flags})
  target_link_libraries(kasimir_torch INTERFACE ${TORCH_LIBRARIES} Threads::Threads)
  target_include_directories(kasimir_torch INTERFACE ${TORCH_INCLUDE_DIRS})
else()
  kasimir_torch_from_wheel()
endif()
