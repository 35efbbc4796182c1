"""CTRLEval: controlled text judged by infilling, without training (Ke et al., ACL 2022)."""
