import java.util.*;

public class Main {
  public static void main(String[] args) {
    List<String> list = new ArrayList<>();
    list.add(1);
    List raw = list;
    undefined();
  }
}
