public class Main {
    public static void main(String[] args) throws Exception {
        Thread.sleep(600_000);
    }
}
