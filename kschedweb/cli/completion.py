"""Completion for shells: each asks this program what could come next, so nothing is listed twice."""

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


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What the last of ``words`` may become; nothing where a shell should offer files, or where nothing is known."""
    *before, current = words or [""]
    options, commands, waits = _walked(parser, before)
    if waits is not None:
        found = [str(one) for one in waits.choices or ()]
    elif current.startswith("-"):
        found = [name for option in options for name in option.option_strings if name.startswith("--")]
    else:
        found = list(commands.choices or ()) if commands is not None else []
    return sorted({one for one in found if one.startswith(current) and not one.startswith("__")})


def _walked(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[argparse.Action], argparse.Action | None, argparse.Action | None]:
    """(options that may follow ``words``, the argument that has choices, the option whose value comes next)."""
    waits: argparse.Action | None = None
    actions = list(parser._actions)
    for word in words:
        if waits is not None:
            waits = None
        elif word.startswith("-"):
            waits = next((one for one in actions if word in one.option_strings and one.nargs != 0), None)
        elif isinstance(commands := getattr(_choosing(actions), "choices", None), dict) and word in commands:
            actions = list(commands[word]._actions)
    return [one for one in actions if one.option_strings], _choosing(actions), waits


def _choosing(actions: Sequence[argparse.Action]) -> argparse.Action | None:
    return next((one for one in actions if not one.option_strings and one.choices), None)
