# flowd_add_plugin(NAME SOURCES file... [LIBRARIES target-or-library...])
# One plugin: lib NAME.so with hidden visibility, exporting only the entry, needing nothing of the host.
function(flowd_add_plugin name)
	cmake_parse_arguments(plugin "" "" "SOURCES;LIBRARIES" ${ARGN})
	add_library(${name}_plugin MODULE ${plugin_SOURCES})
	set_target_properties(${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME ${name}
		LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
	target_link_libraries(${name}_plugin PRIVATE flow_sdk ${plugin_LIBRARIES})
	target_link_options(${name}_plugin PRIVATE -Wl,--exclude-libs,ALL)
	if(NOT FLOWD_SANITIZE MATCHES "address|thread")
		target_link_options(${name}_plugin PRIVATE -Wl,-z,defs)
	endif()
endfunction()
