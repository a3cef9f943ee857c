public class Main {
    static volatile long count;

    static void spin() {
        while (true) count++;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 3; i++) new Thread(Main::spin).start();
        spin();
    }
}
