/** Loads the variant of a JNI library that runs best on this CPU. */
public final class Select {
    private Select() {}

    static {
        // select_jni.c and deburr_select.c, compiled to libdeburr-select-jni.so in a folder of java.library.path.
        System.loadLibrary("deburr-select-jni");
    }

    /** The path of the variant to load; the library itself where it has no variants. */
    private static native String path(String library);

    /** As System.load, with an absolute path. */
    public static void load(String library) {
        System.load(path(library));
    }
}
