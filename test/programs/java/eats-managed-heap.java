import java.util.ArrayList;

public class Main {
    public static void main(String[] args) {
        var hoard = new ArrayList<int[]>();
        while (true) hoard.add(new int[1_000]);
    }
}
