"""cryptography: OpenSSL and Rust code, from several threads at once."""
import threading

from cryptography import x509
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.x509.oid import NameOID
import datetime

digest = hashes.Hash(hashes.SHA256())
digest.update(b"abc" * 1000)
print("digest", digest.finalize().hex())
print("derived", PBKDF2HMAC(hashes.SHA256(), 32, b"salt", 1000).derive(b"password").hex())
print("sealed", AESGCM(bytes(16)).encrypt(bytes(12), b"text" * 100, b"more").hex()[:64])

signer = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
print("signed", signer.sign(b"message").hex())

name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "deburr")])
day = datetime.datetime(2030, 1, 1)
builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(7)
builder = builder.not_valid_before(day).not_valid_after(day.replace(year=2031)).public_key(signer.public_key())
certificate = builder.sign(signer, None)
encoded = certificate.public_bytes(serialization.Encoding.DER)
print("certificate", encoded.hex())

faults = []


def contend(number):
    key = Fernet(Fernet.generate_key())
    private = rsa.generate_private_key(65537, 1024)
    for turn in range(40):
        text = bytes([number, turn]) * 500
        if key.decrypt(key.encrypt(text)) != text:
            faults.append((number, turn))
        read = x509.load_der_x509_certificate(encoded)
        if read.subject != name or read.serial_number != 7 or read.fingerprint(hashes.SHA256()) != certificate.fingerprint(hashes.SHA256()):
            faults.append((number, turn))
        signature = private.sign(text, padding.PKCS1v15(), hashes.SHA256())
        private.public_key().verify(signature, text, padding.PKCS1v15(), hashes.SHA256())


threads = [threading.Thread(target=contend, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("faults", faults)
