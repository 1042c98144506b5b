# SPDX-License-Identifier: Apache-2.0
# Defines the imported target kasimir_soci: SOCI with its SQLite3 and PostgreSQL backends. Debian ships no
# SOCIConfig.cmake. The backends are linked, not found at run time: open a session with the factories soci::sqlite3 and
# soci::postgresql of their headers, never by a backend's name.
# Its headers include Boost.Fusion, Boost.DateTime and libpq's, which libsoci-dev does not bring: libboost-dev, headers
# only, and libpq-dev. CMake's FindPostgreSQL would ask for the server's headers too.
find_path(SOCI_INCLUDE_DIR soci/soci.h REQUIRED)
find_library(SOCI_CORE_LIBRARY soci_core REQUIRED)
find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3 REQUIRED)
find_library(SOCI_POSTGRESQL_LIBRARY soci_postgresql REQUIRED)
find_path(LIBPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_library(LIBPQ_LIBRARY pq REQUIRED)
find_package(SQLite3 REQUIRED)
add_library(kasimir_soci INTERFACE IMPORTED GLOBAL)
target_include_directories(kasimir_soci INTERFACE ${SOCI_INCLUDE_DIR} ${LIBPQ_INCLUDE_DIR})
target_link_libraries(kasimir_soci INTERFACE
  ${SOCI_SQLITE3_LIBRARY} ${SOCI_POSTGRESQL_LIBRARY} ${SOCI_CORE_LIBRARY} SQLite::SQLite3 ${LIBPQ_LIBRARY}
  ${CMAKE_DL_LIBS})
