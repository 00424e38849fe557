# Defines fastfs::linked_blas: fastfs, a BLAS and LAPACK, and what fastfs/link_blas.h has to know of these, so that a program
# that links the target calls fastfs_link_blas() and is done. Sets fastfs_blas_FOUND, or fastfs_blas_MESSAGE.
#
#   FASTFS_BLAS_LIBRARIES  the libraries, or targets, that bring BLAS and LAPACK; while it is empty, find_package(LAPACK)
#                          looks for them, which BLA_VENDOR and its relatives steer
if(TARGET fastfs::linked_blas)
  set(fastfs_blas_FOUND TRUE)
  return()
endif()
set(fastfs_blas_FOUND FALSE)

# The names that dgemm goes by: reference BLAS, MKL and most builds of OpenBLAS; the scipy-openblas wheels; Fortran without
# underscores. Nothing but the 64 tells the size of the integers; fastfs_link_blas() finds out when it is called.
get_target_property(_fastfs_definitions fastfs::fastfs INTERFACE_COMPILE_DEFINITIONS)
if("FASTFS_ILP64" IN_LIST _fastfs_definitions)
  set(_fastfs_integer_bits 64)
  set(_fastfs_names dgemm_64_ scipy_dgemm_64_ dgemm_64 dgemm_ dgemm)
else()
  set(_fastfs_integer_bits 32)
  set(_fastfs_names dgemm_ scipy_dgemm_ dgemm)
endif()

set(FASTFS_BLAS_LIBRARIES "" CACHE STRING "libraries or targets that bring BLAS and LAPACK; empty: find_package(LAPACK)")
set(_fastfs_blas ${FASTFS_BLAS_LIBRARIES})
foreach(_fastfs_library IN LISTS _fastfs_blas)
  if(IS_ABSOLUTE "${_fastfs_library}" AND NOT EXISTS "${_fastfs_library}")
    set(fastfs_blas_MESSAGE "FASTFS_BLAS_LIBRARIES has ${_fastfs_library}, which does not exist")
    return()
  endif()
endforeach()
if(NOT _fastfs_blas)
  if(NOT BLA_SIZEOF_INTEGER)
    math(EXPR BLA_SIZEOF_INTEGER "${_fastfs_integer_bits} / 8")
  endif()
  find_package(LAPACK QUIET)
  if(NOT LAPACK_FOUND)
    set(fastfs_blas_MESSAGE "found no LAPACK with ${_fastfs_integer_bits}-bit integers: install one, or set \
FASTFS_BLAS_LIBRARIES to the libraries of yours")
    return()
  endif()
  set(_fastfs_blas ${LAPACK_LIBRARIES} ${LAPACK_LINKER_FLAGS})
endif()

# Whether a program that calls these functions links.
include(CheckSourceCompiles)
function(_fastfs_links found)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set(language C)
    set(linkage "extern")
  else()
    set(language CXX)
    set(linkage "extern \"C\"")
  endif()
  set(program "")
  foreach(name IN LISTS ARGN)
    string(APPEND program "${linkage} void ${name}(void);\n")
  endforeach()
  list(JOIN ARGN "(), " calls)
  set(CMAKE_REQUIRED_LIBRARIES ${_fastfs_blas})
  set(CMAKE_REQUIRED_QUIET TRUE)
  unset(_fastfs_it_links CACHE)  # another BLAS than last time answers for itself
  check_source_compiles(${language} "${program}int main(void) { ${calls}(); return 0; }" _fastfs_it_links)
  set(${found} "${_fastfs_it_links}" PARENT_SCOPE)
  unset(_fastfs_it_links CACHE)
endfunction()

foreach(_fastfs_dgemm IN LISTS _fastfs_names)
  string(REPLACE dgemm dsyevr _fastfs_dsyevr ${_fastfs_dgemm})
  _fastfs_links(_fastfs_found ${_fastfs_dgemm} ${_fastfs_dsyevr})
  if(_fastfs_found)
    string(REGEX MATCH "^(.*)dgemm(.*)$" _fastfs_dgemm ${_fastfs_dgemm})
    set(_fastfs_symbols FASTFS_BLAS_PREFIX=${CMAKE_MATCH_1} FASTFS_BLAS_SUFFIX=${CMAKE_MATCH_2})
    break()
  endif()
endforeach()
if(NOT _fastfs_found)
  list(JOIN _fastfs_names ", " _fastfs_names)
  set(fastfs_blas_MESSAGE "${_fastfs_blas} has no dgemm and dsyevr under any of the names known for \
${_fastfs_integer_bits}-bit integers (${_fastfs_names}): set FASTFS_BLAS_LIBRARIES to libraries that have both")
  return()
endif()

add_library(fastfs_linked_blas INTERFACE)
add_library(fastfs::linked_blas ALIAS fastfs_linked_blas)
target_link_libraries(fastfs_linked_blas INTERFACE fastfs::fastfs ${_fastfs_blas})
target_compile_definitions(fastfs_linked_blas INTERFACE ${_fastfs_symbols})
foreach(_fastfs_threads IN ITEMS
        "scipy_openblas_set_num_threads64_;scipy_openblas_get_num_threads64_"
        "scipy_openblas_set_num_threads;scipy_openblas_get_num_threads"
        "openblas_set_num_threads64_;openblas_get_num_threads64_"
        "openblas_set_num_threads;openblas_get_num_threads"
        "MKL_Set_Num_Threads;MKL_Get_Max_Threads")
  _fastfs_links(_fastfs_found ${_fastfs_threads})
  if(_fastfs_found)
    list(GET _fastfs_threads 0 _fastfs_set)
    list(GET _fastfs_threads 1 _fastfs_get)
    target_compile_definitions(fastfs_linked_blas INTERFACE
      FASTFS_BLAS_SET_THREADS=${_fastfs_set} FASTFS_BLAS_GET_THREADS=${_fastfs_get})
    break()
  endif()
endforeach()
set(fastfs_blas_FOUND TRUE)
