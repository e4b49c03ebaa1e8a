# flowd_add_plugin(NAME SOURCES file... [LIBRARIES target-or-library...] [DESCRIPTOR name_descriptor.h] [OUTPUT_DIRECTORY folder]
#                  [NO_INSTALL])
#
# One plugin: the target NAME_plugin builds NAME.so with hidden visibility, exporting only the entry, needing nothing of the
# host; after linking its manifest is written into it. Works in flowd's own tree and from the installed package (find_package(FlowdSdk)).
# A DESCRIPTOR is installed under include/flow-descriptors/.

if(NOT CMAKE_OBJCOPY)
	find_program(CMAKE_OBJCOPY objcopy REQUIRED)
endif()

function(flowd_add_plugin name)
	cmake_parse_arguments(plugin "NO_INSTALL" "DESCRIPTOR;OUTPUT_DIRECTORY" "SOURCES;LIBRARIES" ${ARGN})
	if(NOT plugin_OUTPUT_DIRECTORY)
		set(plugin_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
	endif()
	set(target ${name}_plugin)
	set(FLOWD_PLUGIN_MAP ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map)
	add_library(${target} MODULE ${plugin_SOURCES})
	set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} POSITION_INDEPENDENT_CODE ON
		LIBRARY_OUTPUT_DIRECTORY ${plugin_OUTPUT_DIRECTORY} LINK_DEPENDS ${FLOWD_PLUGIN_MAP}
		C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
	target_link_libraries(${target} PRIVATE flow_sdk ${plugin_LIBRARIES})
	target_compile_options(${target} PRIVATE -fmacro-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=) # FLOW_HERE: app.c:31
	target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${FLOWD_PLUGIN_MAP})
	if(NOT FLOWD_SANITIZE MATCHES "address|thread") # the sanitizers' runtime is in the executable
		target_link_options(${target} PRIVATE -Wl,-z,defs)
	endif()
	# The host refuses files and folders that others than the owner may write.
	add_custom_command(TARGET ${target} POST_BUILD VERBATIM
		COMMAND $<TARGET_FILE:flowd-manifest> $<TARGET_FILE:${target}> > ${CMAKE_CURRENT_BINARY_DIR}/${name}.manifest.json
		COMMAND ${CMAKE_OBJCOPY} --remove-section .flowd.manifest
			--add-section .flowd.manifest=${CMAKE_CURRENT_BINARY_DIR}/${name}.manifest.json
			--set-section-flags .flowd.manifest=noload,readonly $<TARGET_FILE:${target}>
		COMMAND chmod go-w $<TARGET_FILE:${target}> ${plugin_OUTPUT_DIRECTORY})
	if(TARGET flowd-manifest)
		add_dependencies(${target} flowd-manifest)
	endif()
	if(NOT plugin_NO_INSTALL)
		install(TARGETS ${target} LIBRARY DESTINATION lib/flowd/plugins)
		if(plugin_DESCRIPTOR)
			install(FILES ${plugin_DESCRIPTOR} DESTINATION include/flow-descriptors)
		endif()
	endif()
endfunction()
