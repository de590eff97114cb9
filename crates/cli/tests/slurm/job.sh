#!/bin/sh
# Counts tenths of a second by the clock, saves when it is told to leave, and says what happens to it in a file of its own.
# $1: folder, $2: its name, $3: how far it counts
log=$1/$2.log saved=$1/$2.saved alone=$1/$2.pid
first=0
[ -s "$saved" ] && read -r first < "$saved"
if [ -s "$alone" ] && kill -0 "$(cat "$alone")" 2>/dev/null; then echo twice >> "$log"; fi
echo $$ > "$alone"
echo "start $first on $SLURM_JOB_NODELIST as $SLURM_JOB_ID" >> "$log"
# Tenths of a second since the machine was started, without another process.
tenths() {
    read -r now rest < /proc/uptime
    now=${now%?}
    now=${now%.*}${now#*.}
}
tenths
began=$now
n=$first
leave() {
    echo "$n" > "$saved.new"
    mv "$saved.new" "$saved"
    rm -f "$alone"
    echo "left $n" >> "$log"
    exit 75
}
trap leave TERM
# While nobody is to end, it goes on counting.
while [ "$n" -lt "$3" ] || [ -e "$1/nobody-ends" ]; do
    sleep 0.1 &
    wait $!
    tenths
    n=$((first + now - began))
done
rm -f "$alone"
echo done >> "$log"
