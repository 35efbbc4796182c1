"""The verbs: score, agree, compare, prefer, audit, plan, label, steer and demo, each in a file of its own."""
