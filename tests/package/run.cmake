# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=.. -DSOURCE=.. -DGENERATOR=.. -DCOMPILER=.. -DFLAGS=.. -P run.cmake
set(root ${BUILD}/package)
file(REMOVE_RECURSE ${root})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${root}/prefix --component development)
run(${CMAKE_COMMAND} -S ${SOURCE}/stranger -B ${root}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${root}/prefix)
run(${CMAKE_COMMAND} --build ${root}/build)
run(${root}/build/stranger)
if(NOT output MATCHES "^kernel [^\n]+\n.*\nreturn [^\n]+\n.*[0-9]+ MACs, [0-9]+ parameters\n\n[0-9]+ cycles, [0-9.]+ uJ on gemmini\n$")
  message(FATAL_ERROR "the program printed\n${output}")
endif()

# Another minor version is another interface.
file(MAKE_DIRECTORY ${root}/later)
file(WRITE ${root}/later/CMakeLists.txt
  "cmake_minimum_required(VERSION 3.25)\nproject(later CXX)\nfind_package(kasimir 0.2 CONFIG REQUIRED)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${root}/later -B ${root}/later_build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${root}/prefix RESULT_VARIABLE status OUTPUT_QUIET
  ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "kasimirConfig.cmake, version: 0.1")
  message(FATAL_ERROR "version 0.2 was found, or not refused by its version:\n${output}")
endif()
