public class Main {
    static volatile long count;

    public static void main(String[] args) {
        while (true) count++;
    }
}
