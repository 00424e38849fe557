# cmake -DNM=... -DOBJDUMP=... -DOBJECTS=... -DISA=avx2 -P check_isa_objects.cmake
#
# An object compiled for one instruction set must not run, or hand to other objects, any code on a machine without it: no
# static initialisers, which run when the library is loaded, and no functions that the linker may merge with those of other
# objects, as it does with templates and inline functions. All that may leave it are its tables of functions.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${OBJDUMP} -h ${object} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
  if(NOT sections MATCHES "\\.text")
    message(FATAL_ERROR "${object}: objdump found no code, so that nothing is checked:\n${sections}")
  endif()
  if(sections MATCHES "\\.(init_array|ctors)[^\n]*")
    message(FATAL_ERROR "${object} has static initialisers: ${CMAKE_MATCH_0}")
  endif()
  execute_process(COMMAND ${NM} --defined-only --extern-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  if(NOT symbols)
    message(FATAL_ERROR "${object}: nm found no symbols, so that nothing is checked")
  endif()
  foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES " [DR] [^ ]*_${ISA}E$")
      message(FATAL_ERROR "${object} shares more than its table of functions: ${symbol}")
    endif()
  endforeach()
endforeach()
