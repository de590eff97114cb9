# A job of the contract suite: it counts milliseconds, and saves the count only when it is told to stop.
# $1: file to make, with -LEASE added, once it listens; then in ms: $2 how long it runs in all, $3 when it crashes
# (or "never"), $4 how long it takes to save, $5 how often it counts.
ready=$1 run=$2 crash=$3 save=$4 slice=$5
ms=0

seconds() { printf '%d.%03d\n' $(($1 / 1000)) $(($1 % 1000)); }

# Waits so that a signal is heard at once.
rest() { sleep "$(seconds "$1")" & wait $!; }

# Runs inside a signal handler: the signal also ended the sleep that was waited for.
leave() {
    trap '' TERM
    rest "$save"
    { seconds "$ms"; echo "$ms"; } > "$EVENHAND_CHECKPOINT.new"
    mv "$EVENHAND_CHECKPOINT.new" "$EVENHAND_CHECKPOINT"
    exit 75
}

[ -s "$EVENHAND_CHECKPOINT" ] && { read -r steps; read -r ms; } < "$EVENHAND_CHECKPOINT"
trap leave TERM
: > "$ready-$EVENHAND_LEASE"
while [ "$ms" -lt "$run" ]; do
    [ "$crash" != never ] && [ "$ms" -ge "$crash" ] && exit 3
    rest "$slice"
    ms=$((ms + slice))
done
exit 0
