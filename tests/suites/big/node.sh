# needs: node
# Worker threads, a server on loopback that is asked 2000 times, files, streams, a child.
cat >work.js <<'P'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const http = require('http'), crypto = require('crypto'), zlib = require('zlib'), { execFileSync } = require('child_process');
if (!isMainThread) {
  let s = 1;
  for (let i = 0; i < 300000; i++) s = (Math.imul(s, 1103515245) + workerData) | 0;
  parentPort.postMessage(s);
} else (async () => {
  const sums = await Promise.all([1, 2, 3, 4, 5, 6].map(n => new Promise((ok, no) => {
    const w = new Worker(__filename, { workerData: n });
    w.on('message', ok); w.on('error', no);
  })));
  console.log('workers', sums.join());
  const server = http.createServer((q, a) => {
    let body = '';
    q.on('data', d => body += d);
    q.on('end', () => a.end(crypto.createHash('sha256').update(q.url + body).digest('hex')));
  });
  await new Promise(ok => server.listen(0, '127.0.0.1', ok));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });
  const ask = i => new Promise((ok, no) => {
    const q = http.request({ port: server.address().port, host: '127.0.0.1', path: '/' + i, method: 'POST', agent }, a => {
      let s = ''; a.on('data', d => s += d); a.on('end', () => ok(s));
    });
    q.on('error', no); q.end('x'.repeat(i % 500));
  });
  const all = crypto.createHash('sha256');
  for (let i = 0; i < 2000; i += 50)
    for (const s of await Promise.all([...Array(50).keys()].map(k => ask(i + k)))) all.update(s);
  agent.destroy(); server.close();
  console.log('asked', all.digest('hex'));
  const data = Buffer.from([...Array(200000).keys()].map(i => i * i & 255));
  console.log('zlib', zlib.gunzipSync(zlib.gzipSync(data)).equals(data));
  console.log('child', execFileSync('echo', ['hello']).toString().trim());
  console.log('wasm', new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]))).exports.add(40, 2));
})();
P
node work.js; echo "node $?"
