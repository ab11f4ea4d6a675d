"""Completion for shells. Each shell asks this program what may come next, so nothing is listed twice."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

SHELLS = {
    "bash": """\
_kschedweb() {
    local IFS=$'\\n'
    COMPREPLY=($(kschedweb __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o bashdefault -F _kschedweb kschedweb
""",
    "zsh": """\
#compdef kschedweb
_kschedweb() {
    local -a found
    found=(${(f)"$(kschedweb __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _kschedweb ]]; then _kschedweb "$@"; else compdef _kschedweb kschedweb; fi
""",
    "fish": """\
function __kschedweb_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    kschedweb __complete $words[2..-1] (commandline --current-token --cut-at-cursor) 2>/dev/null
end
complete --command kschedweb --arguments '(__kschedweb_complete)'
""",
}


def complete_words(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Return what the last of ``words`` may become; nothing if a shell should offer files, or nothing is known."""
    *before, current = words or [""]
    options, commands, pending_option = _walk_words(parser, before)
    if pending_option is not None:
        candidates = [str(choice) for choice in pending_option.choices or ()]
    elif current.startswith("-"):
        candidates = [name for option in options for name in option.option_strings if name.startswith("--")]
    else:
        candidates = list(commands.choices or ()) if commands is not None else []
    return sorted(
        {candidate for candidate in candidates if candidate.startswith(current) and not candidate.startswith("__")}
    )


def _walk_words(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[argparse.Action], argparse.Action | None, argparse.Action | None]:
    """Return (options that may follow ``words``, the argument with choices, the option whose value comes next)."""
    pending_option: argparse.Action | None = None
    # argparse has no public list of a parser's actions.
    actions = list(parser._actions)
    for word in words:
        if pending_option is not None:
            pending_option = None
        elif word.startswith("-"):
            pending_option = next(
                (action for action in actions if word in action.option_strings and action.nargs != 0), None
            )
        elif isinstance(commands := getattr(_find_choices_action(actions), "choices", None), dict) and word in commands:
            actions = list(commands[word]._actions)
    return [action for action in actions if action.option_strings], _find_choices_action(actions), pending_option


def _find_choices_action(actions: Sequence[argparse.Action]) -> argparse.Action | None:
    return next((action for action in actions if not action.option_strings and action.choices), None)
