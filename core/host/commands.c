/* The list of commands, in the order of the help. */
#include "host/commands.h"

const command *const commands[] = {
	&run_command,      &cat_command,         &convert_command,     &check_command,       &plan_command,
	&explain_command,  &help_command,        &plugin_list_command, &plugin_show_command, &plugin_check_command,
	&state_ls_command, &state_reset_command, &version_command,     &completion_command,  NULL,
};
