/* What Select.java calls: compile it with deburr_select.c, -shared -fPIC. */
#include "deburr_select.h"
#include <jni.h>

JNIEXPORT jstring JNICALL Java_Select_path(JNIEnv *java, jclass select, jstring library) {
    char path[4096];
    const char *name = (*java)->GetStringUTFChars(java, library, NULL);
    (void)select;
    if (!name)
        return NULL; /* an exception is pending */
    int result = deburr_select(name, path, sizeof path);
    (*java)->ReleaseStringUTFChars(java, library, name);
    if (result == DEBURR_NO_TABLE)
        return library;
    if (result > 0)
        return (*java)->NewStringUTF(java, path);
    jclass error = (*java)->FindClass(java, "java/lang/UnsatisfiedLinkError");
    if (error)
        (*java)->ThrowNew(java, error, deburr_select_message(result));
    return NULL;
}
