# SPDX-License-Identifier: Apache-2.0
# Writes the files of report/assets into a C++ file, as raw strings:
#   cmake -DASSETS=folder -DOUTPUT=assets.cpp -P embed.cmake
set(text "// Made by report/embed.cmake from report/assets.\n#include \"kasimir/report/assets.h\"\n\n")
string(APPEND text "namespace kasimir::report {\n\n")
foreach(pair IN ITEMS style:report.css script:report.js live:live.js frame:frame.html)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 file)
  file(READ ${ASSETS}/${file} content)
  string(FIND "${content}" ")asset\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${ASSETS}/${file} contains the end of the raw string that is to hold it")
  endif()
  string(APPEND text "const std::string_view report_${name} = R\"asset(${content})asset\";\n\n")
endforeach()
string(APPEND text "}  // namespace kasimir::report\n")
file(WRITE ${OUTPUT} "${text}")
