# needs: chromium
# A page with scripts and a canvas: what it becomes, and its picture.
cat >page.html <<'P'
<!doctype html><title>t</title><body><h1>hot</h1><canvas id=c width=200 height=100></canvas><pre id=o></pre><script>
let x = 1, s = 0;
for (let i = 0; i < 3000000; i++) { x = (x * 1103515245 + 12345) & 0x7fffffff; s = (s + (x >> 7)) % 1000003; }
let words = {};
for (let i = 0; i < 20000; i++) { let k = 'k' + (i * 7919) % 1009; words[k] = (words[k] || 0) + i; }
const c = document.getElementById('c').getContext('2d');
for (let i = 0; i < 50; i++) { c.fillStyle = 'rgb(' + i * 5 + ',80,' + (250 - i * 4) + ')'; c.fillRect(i * 4, i, 40, 30); }
document.getElementById('o').textContent = [s, Object.keys(words).length, words.k5].join(' ');
</script>
P
options="--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir=$PWD/data
    --virtual-time-budget=20000 --window-size=400,300 --hide-scrollbars --timeout=200000"
chromium $options --dump-dom "file://$PWD/page.html" >dom 2>log || { echo "status $?"; tail -3 log; }
grep -o '<pre id="o">.*</pre>' dom || { echo "no result"; tail -5 log; }
chromium $options --screenshot="$PWD/page.png" "file://$PWD/page.html" >log 2>&1 || echo "status $?"
cksum <page.png
