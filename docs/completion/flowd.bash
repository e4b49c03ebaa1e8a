# Bash completion of flowd, made from its own tables by: flowd completion
_flowd() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W "run cat convert check plan explain help plugin state version completion" -- "$word"))
		return
	fi
	case $before in
	--log-level) COMPREPLY=($(compgen -W "error warn info debug trace" -- "$word")); return ;;
	--log-format) COMPREPLY=($(compgen -W "text logfmt json" -- "$word")); return ;;
	--errors) COMPREPLY=($(compgen -W "fail skip" -- "$word")); return ;;
	--errors) COMPREPLY=($(compgen -W "fail skip" -- "$word")); return ;;
	--format) COMPREPLY=($(compgen -W "text markdown schema sample words" -- "$word")); return ;;
	esac
	case "${COMP_WORDS[*]:1:2}" in
	"run"*) options=" --set --state-dir --fresh --drop-state --limit --dry-sink --status-file --check-plugins --plugin-dir --log-level --log-format --json --help" ;;
	"cat"*) options=" --from-format --format --set --where --select --limit --schema --errors --dead-letters --overwrite --plugin-dir --log-level --log-format --json --help" ;;
	"convert"*) options=" --from-format --to-format --set --where --select --limit --errors --dead-letters --overwrite --status-file --plugin-dir --log-level --log-format --json --help" ;;
	"check"*) options=" --set --connect --plugin-dir --log-level --log-format --json --help" ;;
	"plan"*) options=" --set --dot --mermaid --plugin-dir --log-level --log-format --json --help" ;;
	"explain"*) options=" --set --plugin-dir --log-level --log-format --json --help" ;;
	"help"*) options=" --format --plugin-dir --log-level --log-format --json --help" ;;
	"plugin list"*) options=" --plugin-dir --log-level --log-format --json --help" ;;
	"plugin show"*) options=" --plugin-dir --log-level --log-format --json --help" ;;
	"plugin check"*) options=" --plugin-dir --log-level --log-format --json --help" ;;
	"state ls"*) options=" --state-dir --plugin-dir --log-level --log-format --json --help" ;;
	"state reset"*) options=" --state-dir --plugin-dir --log-level --log-format --json --help" ;;
	"version"*) options=" --plugin-dir --log-level --log-format --json --help" ;;
	"completion"*) options=" --plugin-dir --log-level --log-format --json --help" ;;
	esac
	if [[ $word == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$word"))
		return
	fi
	if [ "$COMP_CWORD" = 2 ]; then
		case ${COMP_WORDS[1]} in
		plugin) COMPREPLY+=($(compgen -W "list" -- "$word")) ;;&
		plugin) COMPREPLY+=($(compgen -W "show" -- "$word")) ;;&
		plugin) COMPREPLY+=($(compgen -W "check" -- "$word")) ;;&
		state) COMPREPLY+=($(compgen -W "ls" -- "$word")) ;;&
		state) COMPREPLY+=($(compgen -W "reset" -- "$word")) ;;&
		esac
	fi
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _flowd flowd
