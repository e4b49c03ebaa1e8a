/*
 * host/commands.h - the commands of flowd, a file each. main() only dispatches.
 */
#ifndef HOST_COMMANDS_H
#define HOST_COMMANDS_H

#include "host/arguments.h"

extern const command run_command; /* command_run.c */
extern const command cat_command; /* command_convert.c */
extern const command convert_command;
extern const command check_command; /* command_check.c */
extern const command plan_command;
extern const command explain_command;
extern const command help_command;        /* command_help.c */
extern const command plugin_list_command; /* command_plugin.c */
extern const command plugin_show_command;
extern const command plugin_check_command;
extern const command state_ls_command; /* command_state.c */
extern const command state_reset_command;
extern const command version_command;    /* command_version.c */
extern const command completion_command; /* completion.c */

#endif
