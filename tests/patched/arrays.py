"""NumPy and SciPy: exact results, and what several threads share: the pool of the Fourier transforms, BLAS's buffers."""
import threading

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.optimize

rng = np.random.default_rng(7)
a = rng.integers(-9, 9, (120, 120)).astype(float)
print("product", int((a @ a).sum()), "trace", int(np.trace(a @ a @ a)))
print("solve", np.allclose(a @ np.linalg.solve(a, a), a), "rank", np.linalg.matrix_rank(a))
print("singular values", np.round(scipy.linalg.svdvals(a)[:3], 6).tolist())

signals = rng.integers(0, 100, (64, 4096)).astype(float)
transforms = [scipy.fft.fft(signals, workers=workers) for workers in (1, 4)]
print("transforms agree", bool((transforms[0] == transforms[1]).all()))

faults = []


def contend(number):
    for size in range(60 + number, 100 + number):
        b = np.arange(size * size, dtype=float).reshape(size, size) % 17
        if not np.array_equal(b @ b, sum(np.multiply.outer(b[:, k], b[k]) for k in range(size))):
            faults.append((number, size))
        if not np.allclose(scipy.fft.ifft(scipy.fft.fft(b, workers=4), workers=2), b):
            faults.append((number, -size))


threads = [threading.Thread(target=contend, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("faults", faults)

costs = rng.integers(1, 50, 12)
solved = scipy.optimize.linprog(costs, A_ub=-np.ones((1, 12)), b_ub=[-5], bounds=(0, 1), method="highs")
print("linear program", solved.status, round(solved.fun, 6))
