public class Main {
    public static void main(String[] args) throws Exception {
        // The child searches for the end of a line and keeps everything until it finds one.
        int code = new ProcessBuilder("/usr/bin/tail", "/dev/zero").start().waitFor();
        System.exit(code == 128 + 9 ? 0 : 1);
    }
}
