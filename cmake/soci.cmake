# SPDX-License-Identifier: Apache-2.0
# Defines the imported target kasimir_soci: SOCI with its SQLite3 backend. Debian ships no SOCIConfig.cmake.
# The backend is linked, not found at run time: open a session with the factory soci::sqlite3 of
# <soci/sqlite3/soci-sqlite3.h>, never by the backend's name.
# Its headers include Boost.Fusion and Boost.DateTime, which libsoci-dev does not bring: libboost-dev, headers only.
find_path(SOCI_INCLUDE_DIR soci/soci.h REQUIRED)
find_library(SOCI_CORE_LIBRARY soci_core REQUIRED)
find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3 REQUIRED)
find_package(SQLite3 REQUIRED)
add_library(kasimir_soci INTERFACE IMPORTED GLOBAL)
target_include_directories(kasimir_soci INTERFACE ${SOCI_INCLUDE_DIR})
target_link_libraries(kasimir_soci INTERFACE
  ${SOCI_SQLITE3_LIBRARY} ${SOCI_CORE_LIBRARY} SQLite::SQLite3 ${CMAKE_DL_LIBS})
