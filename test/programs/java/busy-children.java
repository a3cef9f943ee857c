public class Main {
    public static void main(String[] args) throws Exception {
        // Each child stays far below its own limits.
        String spin = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
        while (true) new ProcessBuilder("/bin/sh", "-c", spin).start().waitFor();
    }
}
