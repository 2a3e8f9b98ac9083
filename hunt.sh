c=$(target/debug/homing-sim sweep -n ${1:-3000} | tail -1); case "$c" in *--choices*) target/debug/homing-sim shrink --choices ${c##*choices };; *) echo $c;; esac
