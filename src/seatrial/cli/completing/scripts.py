"""The scripts that ask us, one for each shell: they know no command, so they never get old.

Each calls `seatrial __complete` with the words so far, reads `candidate<Tab>text` lines and the directive in the last
one, and leaves paths to its shell. Tests: tests/cli/test_completion.py, tests/cli/test_plugin_live.py
"""

from __future__ import annotations

from typing import Final

# It works with the bash 3.2 of macOS, too: no negative index, no mapfile; and compopt may be missing there.
BASH: Final = r"""# bash completion for seatrial
__seatrial_complete() {
    local words=() count=0 index word line last cur directive=4
    COMPREPLY=()
    # bash takes --output=json for three words; it is one.
    for ((index = 1; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        last=""
        if ((count)); then last=${words[count - 1]}; fi
        if [[ ( $word == "=" && $last == --* && $last != *=* ) || $last == --*= ]]; then
            words[count - 1]=$last$word
        else
            words[count]=$word
            count=$((count + 1))
        fi
    done
    cur=${words[count - 1]}
    if [[ $cur == --*=* ]]; then cur=${cur#*=}; fi
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            directive=${line#:}
        elif [[ -n $line ]]; then
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <(seatrial __complete "${words[@]}" 2>/dev/null)
    case $directive in
        0) compopt -o filenames 2>/dev/null ;;
        16)
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$cur")
            ;;
        *) compopt +o default 2>/dev/null ;;
    esac
}
complete -o default -F __seatrial_complete seatrial
"""

ZSH: Final = r"""#compdef seatrial
# zsh completion for seatrial
_seatrial() {
    local -a lines described
    local line directive
    lines=("${(@f)$(seatrial __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    directive=${lines[-1]#:}
    for line in "${(@)lines[1,-2]}"; do
        if [[ $line == *$'\t'* ]]; then
            described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
            described+=("${line//:/\\:}")
        fi
    done
    if [[ ${words[CURRENT]} == --*=* ]]; then compset -P '*='; fi
    case $directive in
        0) _files ;;
        16) _files -/ ;;
        *) _describe -t seatrial seatrial described ;;
    esac
}
if [[ $funcstack[1] == _seatrial ]]; then
    _seatrial
else
    compdef _seatrial seatrial
fi
"""

FISH: Final = r"""# fish completion for seatrial
function __seatrial_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l before (string match -r -- '^--[^=]+=' $current)
    set -l value (string replace -r -- '^--[^=]+=' '' "$current")
    set -l lines (seatrial __complete $words[2..-1] "$current" 2>/dev/null)
    set -l found $lines[1..-2]
    switch "$lines[-1]"
        case :0
            set found (__fish_complete_path "$value")
        case :16
            set found (__fish_complete_directories "$value")
    end
    for line in $found
        echo -- "$before$line"
    end
end
complete -c seatrial -f -a '(__seatrial_complete)'
"""

SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}
