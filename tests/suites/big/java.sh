# needs: java javac
# A compiler, then threads, a collector, exceptions made of faults, and code compiled while it runs.
cat >Work.java <<'P'
import java.util.*;
import java.util.concurrent.*;
public class Work {
    static int depth(int n) { return depth(n + 1) + 1; }
    static long mix(long n) {
        long s = 1;
        for (long i = 0; i < n; i++) { s = s * 6364136223846793005L + 1442695040888963407L; s ^= s >>> 17; }
        return s;
    }
    static int nulls(String[] a) {
        int n = 0;
        for (int i = 0; i < 20000; i++) {
            try { n += a[i % a.length].length(); } catch (NullPointerException e) { n += 1000; }
            try { n += 10 / (i % 5); } catch (ArithmeticException e) { n += 7; }
        }
        return n;
    }
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            final int k = i;
            results.add(pool.submit(() -> {
                Map<String, Integer> m = new HashMap<>();
                for (int j = 0; j < 20000; j++) m.merge("k" + (j * k) % 997, j, Integer::sum);
                long s = mix(300000 + k);
                for (int v : new TreeMap<>(m).values()) s = s * 31 + v;
                return s;
            }));
        }
        long sum = 0;
        for (Future<Long> f : results) sum = sum * 17 + f.get();
        pool.shutdown();
        System.out.println("sum " + sum);
        List<byte[]> kept = new LinkedList<>();
        for (int i = 0; i < 20000; i++) { kept.add(new byte[4096]); if (kept.size() > 500) kept.remove(0); }
        System.out.println("kept " + kept.size());
        System.out.println("nulls " + nulls(new String[] {"a", null, "ccc"}));
        int overflows = 0;
        for (int i = 0; i < 3; i++) try { depth(0); } catch (StackOverflowError e) { overflows++; }
        System.out.println("overflows " + overflows);
        Object lock = new Object();
        int[] turns = {0};
        Thread[] t = new Thread[3];
        for (int i = 0; i < 3; i++) {
            final int me = i;
            t[i] = new Thread(() -> { for (int j = 0; j < 300; j++) synchronized (lock) {
                while (turns[0] % 3 != me) try { lock.wait(); } catch (InterruptedException e) { return; }
                turns[0]++; lock.notifyAll(); } });
            t[i].start();
        }
        for (Thread x : t) x.join();
        System.out.println("turns " + turns[0]);
        Thread sleeper = new Thread(() -> { try { Thread.sleep(600000); } catch (InterruptedException e) { System.out.println("woken"); } });
        sleeper.start(); sleeper.interrupt(); sleeper.join();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
        System.exit(3);
    }
}
P
javac Work.java; echo "javac $?"
for collector in -XX:+UseSerialGC -XX:+UseG1GC -XX:+UseParallelGC -XX:+UseZGC; do
    java $collector -Xmx300m -Xss512k -XX:-UsePerfData Work; echo "java $collector $?"
done
java -Xcomp -XX:TieredStopAtLevel=1 -XX:-UsePerfData Work | cksum
