# A job of the kill test. $1: the folder of the test; $2: steps until it is done.
folder=$1 steps=$2 step=0
# A lock dies with its holder: whoever cannot have it is there a second time.
exec 9> "$folder/job-$EVENHAND_JOB"
flock -n 9 || echo "job $EVENHAND_JOB runs twice" >> "$folder/violations"
for gpu in ${EVENHAND_GPUS//,/ }; do
    exec {lock}> "$folder/gpu-$gpu"
    flock -n "$lock" || echo "GPU $gpu is used twice, by job $EVENHAND_JOB too" >> "$folder/violations"
done
save() {
    echo "$step" > "$EVENHAND_CHECKPOINT.new"
    mv "$EVENHAND_CHECKPOINT.new" "$EVENHAND_CHECKPOINT"
}
trap 'save; exit 75' TERM
if [ -s "$EVENHAND_CHECKPOINT" ]; then
    [ "$EVENHAND_RESUME" = 1 ] || echo "job $EVENHAND_JOB is not told that it resumes" >> "$folder/violations"
    read -r step < "$EVENHAND_CHECKPOINT"
fi
while [ "$step" -lt "$steps" ]; do
    sleep 0.05 & wait $!
    step=$((step + 1))
    save
done
exit 0
