# find_package(FlowdSdk): targets flow_headers, flow_sdk, flowd-manifest and the function flowd_add_plugin.
include(${CMAKE_CURRENT_LIST_DIR}/FlowdSdkTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/FlowdPlugin.cmake)
