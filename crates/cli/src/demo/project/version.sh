# Compares dotted version numbers.
# Usage: . ./version.sh; newer 1.2.3 1.2.0 && echo "an update"

# Succeeds if the first version is newer than the second.
newer() {
    [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort | tail -n 1)" = "$1" ]
}
